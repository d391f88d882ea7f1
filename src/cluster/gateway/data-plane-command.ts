/** The command line of a node's data plane: this program, with the least rights that it needs. */
import type { Platform } from '../../platform/platform.ts';

/** The start of systemd's range of user IDs that no account has (UIDS-GIDS). */
const FIRST_USER = 61_184;
const USERS = 4_336;
/**
 * The capabilities of the process that opens ports: to open them, to change to the serving user, to end the serving process, to
 * read its program.
 */
const CAPABILITIES = ['net_bind_service', 'setuid', 'setgid', 'kill', 'dac_read_search'];

/** `runDir`: the instance's run directory, whose name is the instance's hash. */
export async function dataPlaneCommand(
  { exec, log }: Pick<Platform, 'exec' | 'log'>,
  runDir: string,
  socketPath: string,
): Promise<readonly string[]> {
  const program = process.argv[1] ?? '';
  const user = FIRST_USER + (Number.parseInt(runDir.slice(runDir.lastIndexOf('/') + 1), 16) % USERS);
  const options = ['--control', socketPath, '--user', String(user)];
  const own = [process.execPath, '--max-semi-space-size=4', program, 'gateway-server', ...options];
  const bounding = `--bounding-set=-all${CAPABILITIES.map((name) => `,+${name}`).join('')}`;
  const confined = ['setpriv', '--no-new-privs', '--inh-caps=-all', '--ambient-caps=-all', bounding];
  try {
    const { exitCode, stderr } = await exec.run('setpriv', [...confined.slice(1), 'true']);
    if (exitCode === 0) return [...confined, ...own];
    log.warn('setpriv: the process that opens ports of routes keeps the rights of root', { err: stderr.trim() });
  } catch (error) {
    // The serving process gives up root in any case.
    log.warn('setpriv: the process that opens ports of routes keeps the rights of root', { err: error });
  }
  return own;
}
