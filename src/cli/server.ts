/** `keelson server`: the control plane of a cluster of several machines, with a node on this one unless told otherwise. */
import { Command } from 'commander';
import { parseServerOptions, type RawServerOptions } from './cluster-options.ts';
import { checkPrivileges, runServer, withServerOptions } from './server-options.ts';

interface RawOptions extends RawServerOptions {
  readonly disableAgent?: boolean;
}

/** The command. */
export function serverCommand(): Command {
  const command = new Command('server').description('start the control plane that other machines join (keelson agent)');
  return withServerOptions(command)
    .option('--disable-agent', 'no node on this machine: API server, controllers and scheduler alone')
    .option('--detach', 'return when it is ready and leave it running')
    .action(async (raw: RawOptions) => {
      if (raw.disableAgent !== true) checkPrivileges();
      const options = { ...parseServerOptions(raw), ...(raw.disableAgent === true ? { disableAgent: true } : {}) };
      process.exitCode = await runServer(options, raw);
    });
}
