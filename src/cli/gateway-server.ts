/** `keelson gateway-server`: the data plane of routes as a process of its own. `keelson up` starts it; users do not. */
import { rmSync } from 'node:fs';
import { Command } from 'commander';
import { logContained } from './last-net.ts';

/** The command, hidden from the help. */
export function gatewayServerCommand(): Command {
  return new Command('gateway-server')
    .requiredOption('--control <path>', 'unix socket that takes snapshots')
    .action(async ({ control: path }: { readonly control: string }) => {
      const { DataPlane } = await import('../gateway/data-plane/data-plane.ts');
      const { createControlServer } = await import('../gateway/data-plane/control-server.ts');
      const { readSnapshot } = await import('../gateway/snapshot/snapshot-message.ts');
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const platform = createNodePlatform({ startSpawner: false });
      logContained(platform.log);
      const log = platform.log.child('gateway');
      const plane = new DataPlane({ clock: platform.clock, log, report: (report) => control.report(report) });
      const control = createControlServer(log, ({ generation, snapshot }) =>
        plane.apply(generation, readSnapshot(snapshot)),
      );
      // What a data plane left that was killed.
      rmSync(path, { force: true });
      await control.listen(path);
      await new Promise<void>((resolve) => {
        process.once('SIGTERM', resolve);
        process.once('SIGINT', resolve);
      });
      await control.close();
      await plane.stop();
      platform.close();
    });
}
