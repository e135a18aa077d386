"""Parses `python3 -m sglang.launch_server ...` with the parser of the SGLang that is installed; JSON as parse_vllm.py."""
import argparse
import contextlib
import importlib.metadata
import json
import sys

from parse_vllm import refusal


def main():
    commands = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        from sglang.srt.server_args import ServerArgs

        parser = argparse.ArgumentParser(prog='sglang')
        ServerArgs.add_cli_args(parser)
        # Behind `python3 -m sglang.launch_server`.
        refused = [dict(one, error=error) for one in commands if (error := refusal(parser, one['argv'][3:]))]
    json.dump({'version': importlib.metadata.version('sglang'), 'refused': refused}, sys.stdout)


if __name__ == '__main__':
    main()
