"""Clock, power and throttle reasons of one GPU at work, from nvidia-smi or rocm-smi; null without them."""
from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import threading
import time

EVERY_S = 0.2
ANSWER_S = 15

# The bits of NVML's nvmlClocksEventReasons, from the lowest.
REASONS = (
    'gpu_idle',
    'applications_clocks_setting',
    'sw_power_cap',
    'hw_slowdown',
    'sync_boost',
    'sw_thermal_slowdown',
    'hw_thermal_slowdown',
    'hw_power_brake_slowdown',
    'display_clocks_setting',
)


def answer_of(argv):
    """What a program prints, or None when it is not there, fails or does not answer."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=ANSWER_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors='replace') if done.returncode == 0 else None


def number(text):
    """The number at the start of a text (`700.00 W`), or None (`[N/A]`)."""
    found = re.match(r'\s*\(?(-?\d+(?:\.\d+)?)', str(text))
    return float(found.group(1)) if found else None


def reasons_in(mask):
    """The names of the bits of `0x0000000000000004`; None of anything else."""
    if not re.fullmatch(r'0x[0-9a-fA-F]+', mask):
        return None
    bits = int(mask, 16)
    return [name for bit, name in enumerate(REASONS) if bits >> bit & 1]


class Nvidia:
    """One loop of nvidia-smi; its lines are read by a thread, each stamped as it comes."""

    # The throttle field has the second name in drivers before 535.
    FIELDS = (('power.draw',), ('clocks.sm',), ('temperature.gpu',))
    THROTTLE = ('clocks_event_reasons.active', 'clocks_throttle_reasons.active')

    def __init__(self, names):
        self.id = next((name for name in names if self.ask('driver_version', name) is not None), None)
        self.loop = None

    def query(self, fields, gpu):
        return [
            'nvidia-smi',
            '--query-gpu=' + ','.join(fields),
            '--format=csv,noheader,nounits',
            *([f'--id={gpu}'] if gpu else []),
        ]

    def ask(self, field, gpu=None):
        text = answer_of(self.query([field], gpu or self.id))
        line = (text or '').strip().split('\n')[0].strip()
        return line if line and not line.startswith('[') else None

    def identity(self):
        return {
            'driver': self.ask('driver_version'),
            'power_cap_w': number(self.ask('enforced.power.limit') or self.ask('power.limit') or ''),
            'max_clock_mhz': number(self.ask('clocks.max.sm') or ''),
        }

    def run(self, keep):
        fields = [names[0] for names in self.FIELDS]
        fields += [next((name for name in self.THROTTLE if self.ask(name) is not None), self.THROTTLE[0])]
        argv = [*self.query(fields, self.id), f'--loop-ms={int(EVERY_S * 1000)}']
        # A session of its own: Ctrl-C is for us, and we end it.
        self.loop = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        for line in self.loop.stdout:
            cells = [cell.strip() for cell in line.split(',')]
            if len(cells) == len(fields):
                keep(number(cells[1]), number(cells[0]), number(cells[2]), reasons_in(cells[3]))

    def end(self):
        if self.loop:
            self.loop.kill()
            self.loop.wait()


class Rocm:
    """rocm-smi has no loop of its own: it is asked again and again."""

    def __init__(self, index):
        self.card = f'card{index}'
        self.ended = threading.Event()

    def ask(self, *what):
        text = answer_of(['rocm-smi', *what, '--json'])
        try:
            return json.loads(text[text.index('{') :]) if text else {}
        except ValueError:
            return {}

    def identity(self):
        told = self.ask('--showdriverversion', '--showmaxpower')
        return {
            'driver': told.get('system', {}).get('Driver version'),
            'power_cap_w': number(told.get(self.card, {}).get('Max Graphics Package Power (W)', '')),
            'max_clock_mhz': None,
        }

    def run(self, keep):
        while not self.ended.wait(EVERY_S):
            card = self.ask('--showpower', '--showtemp', '-c').get(self.card, {})
            power = [number(v) for k, v in card.items() if 'Graphics Package Power' in k and 'Max' not in k]
            heat = [number(v) for k, v in card.items() if 'junction' in k]
            clock = number(card.get('sclk clock speed:', ''))
            keep(clock, next(iter(power), None), next(iter(heat), None), None)

    def end(self):
        self.ended.set()


class Monitor:
    """Samples of one GPU with the time of each on this process' monotonic clock."""

    def __init__(self, names, index):
        self.samples = []
        self.tool = None
        if shutil.which('nvidia-smi'):
            self.tool = Nvidia(names)
        elif shutil.which('rocm-smi'):
            self.tool = Rocm(index)
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def identity(self):
        return self.tool.identity() if self.tool else {'driver': None, 'power_cap_w': None, 'max_clock_mhz': None}

    def start(self):
        if self.tool:
            self.thread.start()

    def watch(self):
        try:
            self.tool.run(lambda *sample: self.samples.append((time.monotonic(), *sample)))
        except Exception:  # Telemetry that breaks leaves nulls; it never ends the measurement.
            pass

    def between(self, start, end):
        """Medians of the samples of a span, and the share of them in which each throttle reason was active."""
        inside = [sample[1:] for sample in list(self.samples) if start <= sample[0] <= end]
        told = [sample[3] for sample in inside if sample[3] is not None]
        return {
            'clocks_mhz': median([sample[0] for sample in inside]),
            'power_w': median([sample[1] for sample in inside]),
            'temperature_c': median([sample[2] for sample in inside]),
            'throttle': {
                name: round(sum(name in reasons for reasons in told) / len(told), 3)
                for name in REASONS
                if any(name in reasons for reasons in told)
            }
            if told
            else None,
        }

    def end(self):
        if self.tool:
            self.tool.end()


def median(values):
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None
