/** Completions of real shells with the scripts. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

const missing = (shell: string): string | false =>
  spawnSync(shell, ['-c', 'true']).error === undefined ? false : `${shell} is not installed`;

/** Runs the shell's program with a file of the completion script as its first argument. */
function inShell(shell: string, script: string, program: string, ...args: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-completion-'));
  try {
    const [file, main] = [join(folder, 'completion'), join(folder, 'main')];
    writeFileSync(file, script);
    writeFileSync(main, program);
    const quiet = shell === 'fish' ? ['--no-config'] : ['-f'];
    const env = { ...process.env, HOME: folder, TERM: 'dumb' };
    return execFileSync(shell, [...quiet, main, file, ...args], { encoding: 'utf8', cwd: '/', env, timeout: 60_000 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Types each line and Tab into an interactive zsh, whose `keelson` prints the line that it gets. */
const TYPE_INTO_ZSH = `zmodload zsh/zpty
file=$1; shift
zpty shell zsh -f -i
zpty -w shell 'PROMPT="" RPROMPT=""; autoload -Uz compinit; compinit -u -D; source '$file
zpty -w shell 'keelson() { case "$*" in "ls -o name") print -l dev prod ;; "node ls -o name") print -l first second ;; esac
print -r -- "LI""NE:$*:END"; }; print RE""ADY'
zpty -r shell out '*READY*'
for line in "$@"; do
  zpty -w -n shell "keelson $line"$'\t\n'
  zpty -r shell out "*LINE:*:END*"
  print -r -- "\${\${out##*LINE:}%%:END*}"
done
zpty -d shell`;

test('an interactive zsh completes', { skip: missing('zsh') }, () => {
  const lines = [
    ['up --de', 'up --detach'],
    ['im', 'image'],
    ['image lo', 'image load'],
    ['image load --f', 'image load --file'],
    ['up --cni n', 'up --cni none'],
    ['up --name p', 'up --name prod'],
    ['completion z', 'completion zsh'],
    ['node stop se', 'node stop second'],
    ['up --sec', 'up --sec'],
    ['in', 'in'],
  ] as const;
  const found = inShell('zsh', zshScript(table), TYPE_INTO_ZSH, ...lines.map(([line]) => line));
  assert.deepEqual(
    found.trim().split('\n'),
    lines.map(([, completedLine]) => completedLine),
  );
});

describe('fish completes', { skip: missing('fish') }, () => {
  const program = `source $argv[1]
function keelson
  test "$argv" = "ls -o name"; and printf 'dev\\nprod\\n'
  test "$argv" = "node ls -o name"; and printf 'home-2\\nhome-3\\n'
end
complete -C "keelson $argv[2]"`;
  for (const [line, expected] of [
    ['u', ['up']],
    ['', ['completion', 'image', 'node', 'up']],
    ['image ', ['load', 'ls']],
    ['up --de', ['--detach']],
    ['up --name image --de', ['--detach']],
    ['image load --', ['--file', '--help']],
    ['image --name ls --', ['--help']],
    ['up --cni ', ['keelson', 'none']],
    ['up --name ', ['dev', 'prod']],
    ['completion z', ['zsh']],
    ['node stop h', ['home-2', 'home-3']],
    ['inn', []],
  ] as const)
    test(`${line}: ${expected.join(' ') || 'nothing'}`, () => {
      const found = inShell('fish', fishScript(table), program, line);
      const words = found.split('\n').flatMap((each) => (each === '' ? [] : [each.split('\t')[0]]));
      assert.deepEqual(words.toSorted(), expected.toSorted());
    });
});
