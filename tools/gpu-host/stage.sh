#!/bin/bash
# Puts pieces where the next call carries them from: .gpu/NAME/ in the repository's root, kept out of git by
# .git/info/exclude. Hard links and one rename, so that a machine that waits is not lost.
# usage: stage.sh NAME PIECES N...   (NAME: vllm or sglang; PIECES: folder of pack.py; N: 1 2 ...)
set -e
cd "$(dirname "$0")/../.."
name=$1 pieces=$2
shift 2
next=$(mktemp -d .gpu-next.XXXX)
mkdir "$next/$name"
cp "$pieces/manifest.json" "$next/$name/"
for n in "$@"; do ln "$pieces/$(printf '%03d' "$n").bin" "$next/$name/" 2>/dev/null || cp "$pieces/$(printf '%03d' "$n").bin" "$next/$name/"; done
[ -f "$pieces/../models.tar.xz" ] && cp "$pieces/../models.tar.xz" "$next/"
mkdir -p .git/info
grep -qsx '/.gpu\*' .git/info/exclude || echo '/.gpu*' >>.git/info/exclude
rm -rf .gpu
mv "$next" .gpu
du -sh .gpu
