/** `keelson gateway-server`: the data plane of routes as separate processes. `keelson up` starts it; users do not. */
import { rmSync } from 'node:fs';
import { Command } from 'commander';
import { logContained } from './last-net.ts';

interface Options {
  readonly control: string;
  readonly user: string;
}

/** The command, hidden from the help. */
export function gatewayServerCommand(): Command {
  return new Command('gateway-server')
    .requiredOption('--control <path>', 'unix socket that takes snapshots')
    .requiredOption('--user <number>', 'the user that serves, where root starts it')
    .action(async ({ control, user }: Options) => {
      const { isServingProcess, superviseServing } = await import('../gateway/data-plane/two-processes.ts');
      if (isServingProcess()) return serve(control, Number(user));
      // A killed data plane leaves its socket behind.
      rmSync(control, { force: true });
      process.exitCode = await superviseServing(process.env, control);
    });
}

async function serve(path: string, user: number): Promise<void> {
  const { DataPlane } = await import('../gateway/data-plane/data-plane.ts');
  const { createControlServer } = await import('../gateway/data-plane/control-server.ts');
  const { readSnapshot } = await import('../gateway/snapshot/snapshot-message.ts');
  const { becomeUser, closeUnboundHandles } = await import('../gateway/data-plane/two-processes.ts');
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false });
  logContained(platform.log);
  const log = platform.log.child('gateway');
  becomeUser(user);
  closeUnboundHandles();
  const plane = new DataPlane({ clock: platform.clock, log, report: (report) => control.report(report) });
  const control = createControlServer(log, ({ generation, snapshot }) =>
    plane.apply(generation, readSnapshot(snapshot)),
  );
  await control.listen(path);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  await control.close();
  await plane.stop();
  platform.close();
  // The channel to the process that opened the ports keeps this one alive.
  process.disconnect();
}
