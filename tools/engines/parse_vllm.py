"""Parses `vllm serve ...` with the parser of the vLLM that is installed; JSON in and out.

In: a list of {"at": ..., "argv": [...]}. Out: {"version": ..., "refused": [{"at", "argv", "error"}]}.
"""
import contextlib
import importlib.metadata
import io
import json
import sys


def main():
    commands = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        from vllm.entrypoints.cli.serve import ServeSubcommand

        try:
            from vllm.utils.argparse_utils import FlexibleArgumentParser
        except ImportError:
            from vllm.utils import FlexibleArgumentParser
        parser = FlexibleArgumentParser(prog='vllm')
        ServeSubcommand().subparser_init(parser.add_subparsers(dest='subparser'))
        refused = [dict(one, error=error) for one in commands if (error := refusal(parser, one['argv'][1:]))]
    json.dump({'version': importlib.metadata.version('vllm'), 'refused': refused}, sys.stdout)


def refusal(parser, argv):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(argv)
    except SystemExit as end:
        return None if end.code == 0 else (said.getvalue().strip().splitlines() or [f'ended with {end.code}'])[-1]
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return None


if __name__ == '__main__':
    main()
