"""Blanks the device code of other GPU architectures in a CUDA extension, so that it packs small.

A fat binary holds one entry for each architecture; the driver reads the headers and loads one entry. Headers, sizes
and offsets stay as they are and only the payload of entries that this GPU never loads becomes zeros: the file keeps
its length, behaves the same on this GPU, and compresses to a fraction.

usage: slim.py ARCH FILE... (ARCH as 90); rewrites the files in place and prints what was kept and blanked.
"""
import mmap
import struct
import sys

REGION_MAGIC = struct.pack('<I', 0xBA55ED50)
PTX = 1
CUBIN = 2


def entries(data, start):
    """Yields (kind, arch, payload offset, payload size) of one fat binary and returns where it ends."""
    header_size, body_size = struct.unpack_from('<HQ', data, start + 6)
    at = start + header_size
    end = at + body_size
    while at < end:
        kind, _, entry_header, padded = struct.unpack_from('<HHIQ', data, at)
        if kind not in (PTX, CUBIN) or entry_header < 32 or at + entry_header + padded > end:
            raise ValueError(f'unknown entry at {at:#x}: kind {kind}, header {entry_header}')
        arch = struct.unpack_from('<I', data, at + 28)[0]
        yield kind, arch, at + entry_header, padded
        at += entry_header + padded


def slim(path, arch):
    kept = {}
    blanked = {}
    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as data:
        at = data.find(REGION_MAGIC)
        while at >= 0:
            version = struct.unpack_from('<H', data, at + 4)[0]
            header_size = struct.unpack_from('<H', data, at + 6)[0]
            if version != 1 or header_size != 16:
                at = data.find(REGION_MAGIC, at + 4)
                continue
            found = list(entries(data, at))
            own = any(kind == CUBIN and entry_arch == arch for kind, entry_arch, _, _ in found)
            # Without machine code of its own the GPU needs code of its own generation or PTX not newer than itself.
            fallback = {e[1] for e in found if e[0] == CUBIN and e[1] // 10 == arch // 10 and e[1] < arch}
            for kind, entry_arch, offset, size in found:
                if own:
                    keep = kind == CUBIN and entry_arch == arch
                else:
                    keep = entry_arch in fallback or (kind == PTX and entry_arch <= arch)
                where = kept if keep else blanked
                key = ('ptx' if kind == PTX else 'sm') + str(entry_arch)
                where[key] = where.get(key, 0) + size
                if not keep:
                    data[offset : offset + size] = bytes(size)
            body = struct.unpack_from('<Q', data, at + 8)[0]
            at = data.find(REGION_MAGIC, at + 16 + body)
    return kept, blanked


if __name__ == '__main__':
    for name in sys.argv[2:]:
        kept, blanked = slim(name, int(sys.argv[1]))
        print(name.rsplit('/', 1)[-1], 'kept', kept, 'blanked', blanked)
