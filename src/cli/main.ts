/**
 * The `keelson` command line. Each command is a file of its own, loaded when it is used. Exit codes: 0 done, 1 failed,
 * 2 wrong usage; every failure is one line on stderr.
 */
import { Command, CommanderError } from 'commander';
import { VERSION } from '../base/version.ts';
import { agentCommand } from './agent.ts';
import { controllerManagerCommand } from './controller-manager.ts';
import { dnsServerCommand } from './dns-server.ts';
import { downCommand } from './down.ts';
import { kubeletCommand } from './kubelet.ts';
import { rollingUpdateCommand } from './rolling-update.ts';
import { schedulerCommand } from './scheduler.ts';
import { serverCommand } from './server.ts';
import { simCommand } from './sim.ts';
import { statusCommand } from './status.ts';
import { tokenCommand } from './token.ts';
import { upCommand } from './up.ts';
import { UserError } from './usage-error.ts';
import { whyCommand } from './why.ts';

/** Every command. A new one: a file and a line here. */
const commands: readonly (() => Command)[] = [
  upCommand,
  serverCommand,
  agentCommand,
  tokenCommand,
  downCommand,
  statusCommand,
  whyCommand,
  kubeletCommand,
  schedulerCommand,
  controllerManagerCommand,
  simCommand,
  rollingUpdateCommand,
];

function program(): Command {
  const root = new Command('keelson')
    .description('Kubernetes for Node.js')
    .version(VERSION, '--version', 'print the version');
  for (const command of commands) root.addCommand(command());
  root.addCommand(dnsServerCommand(), { hidden: true });
  for (const command of [root, ...root.commands, ...root.commands.flatMap(({ commands: own }) => own)]) {
    command
      .exitOverride()
      .showSuggestionAfterError(true)
      .configureOutput({ outputError: (text, write) => write(oneLine(text)) });
  }
  return root;
}

/** One line, whatever the text: commander prints its suggestion on a line of its own, others quote sources. */
function oneLine(text: string): string {
  return `keelson: ${text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')}\n`;
}

/** Runs one command line; resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  // The clock's timers keep no process alive; a command in progress does.
  const alive = setInterval(() => undefined, 0x7fff_ffff);
  try {
    await program().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof UserError) {
      process.stderr.write(oneLine(error.message));
      return error.exitCode;
    }
    process.stderr.write(oneLine(error instanceof Error ? error.message : String(error)));
    if (process.env['KEELSON_DEBUG'] !== undefined) console.error(error);
    return 1;
  } finally {
    clearInterval(alive);
  }
}

process.exitCode = await main(process.argv.slice(2));
