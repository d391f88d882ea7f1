/** A simulated cluster without nodes in a separate process, for tests of data directories. */
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson } from './own-servers.ts';

interface SimulatedServer {
  /** Default: a free port. */
  readonly port?: number;
  readonly flags?: readonly string[];
}

/** Resolves when the API server responds. A process that fails before that is ended. */
export async function startSimulated(dataDir: string, { port, flags = [] }: SimulatedServer = {}): Promise<Running> {
  const own = ['--nodes=0', `--data-dir=${dataDir}`, `--https-port=${port ?? (await freePort())}`, '--log-level=error'];
  const running = start(process.execPath, [keelsonProgram, 'up', '--simulate', ...own, ...flags]);
  try {
    await until('it runs', async () =>
      (await keelson(['status', `--data-dir=${dataDir}`])).stdout.includes('apiserver ok'),
    );
    return running;
  } catch (error) {
    running.kill('SIGKILL');
    await running.ended();
    throw error;
  }
}
