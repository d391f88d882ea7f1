/** Completions of a real bash with the script; the scripts of other shells contain the same commands and options. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { Argument, Command, Option } from 'commander';
import { bashScript, fishScript, zshScript } from './scripts.ts';
import { completionTable } from './table.ts';

function program(): Command {
  const up = new Command('up')
    .description("start a cluster, it's quick")
    .option('--data-dir <dir>', 'where')
    .option('--name <name>', 'name')
    .option('--detach', 'behind')
    .addOption(new Option('--cni <who>', 'who').choices(['keelson', 'none']))
    .addOption(new Option('--secret').hideHelp());
  const image = new Command('image')
    .addCommand(new Command('load').option('-f, --file <file>', 'file'))
    .addCommand(new Command('ls'));
  const node = new Command('node').addCommand(new Command('stop').argument('<node>', 'which'));
  const shell = new Command('completion').addArgument(new Argument('<shell>').choices(['bash', 'zsh']));
  return new Command('keelson')
    .addCommand(up)
    .addCommand(image)
    .addCommand(node)
    .addCommand(shell)
    .addCommand(new Command('inner'), { hidden: true });
}

const table = completionTable(program());

function completed(...words: readonly string[]): string[] {
  const array = words.map((word) => `'${word}'`).join(' ');
  const script = `${bashScript(table)}
keelson() { [[ "$*" == "ls -o name" ]] && printf 'dev\\nprod\\n'; [[ "$*" == "node ls -o name" ]] && printf 'home-2\\nhome-3\\n'; }
COMP_WORDS=(keelson ${array}); COMP_CWORD=${words.length}; _keelson; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--noprofile', '--norc', '-c', script], { encoding: 'utf8', cwd: '/' })
    .split('\n')
    .filter((line) => line !== '');
}

describe('bash completes', () => {
  for (const [words, expected] of [
    [['u'], ['up']],
    [['im'], ['image']],
    [['up', '--de'], ['--detach']],
    [
      ['up', '--cni', ''],
      ['keelson', 'none'],
    ],
    [['up', '--cni', '=', 'n'], ['none']],
    [['up', '--name', 'p'], ['prod']],
    [['up', '--data-dir', 'et'], ['etc']],
    [['up', '--sec'], []],
    [
      ['image', ''],
      ['load', 'ls', '-h', '--help'],
    ],
    [['image', 'load', '--f'], ['--file']],
    [['completion', 'z'], ['zsh']],
    [
      ['node', 'stop', 'h'],
      ['home-2', 'home-3'],
    ],
    [['in'], []],
  ] as const)
    test(`${words.join(' ')}: ${expected.join(' ') || 'nothing'}`, () => {
      const found = completed(...words);
      assert.deepEqual(found.toSorted(), expected.toSorted());
    });
});

test('the scripts of zsh and fish have every command and option', () => {
  for (const script of [zshScript(table), fishScript(table)])
    for (const word of ['up', 'image', 'load', 'data-dir', 'cni', 'zsh', "it'\\''s quick"])
      assert.ok(script.includes(word), `${word} in ${script}`);
});
