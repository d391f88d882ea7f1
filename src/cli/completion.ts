/** `keelson completion`: a script that completes commands, options and their values, made from the commands themselves. */
import { Argument, Command } from 'commander';
import { completionTable } from './completion/table.ts';
import { bashScript, fishScript, zshScript } from './completion/scripts.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `loadAll`: the program with every command. */
export function completionCommand(loadAll: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print a completion script: source <(keelson completion bash)')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(SCRIPTS)))
    .action(async (shell: keyof typeof SCRIPTS) => {
      process.stdout.write(SCRIPTS[shell](completionTable(await loadAll())));
    });
}
