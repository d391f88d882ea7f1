/** The command line of a node's data plane: this same program, with no more rights than it needs. */
import type { Platform } from '../../platform/platform.ts';

/** systemd's range of users that no account has (UIDS-GIDS). */
const FIRST_USER = 61_184;
const USERS = 4_336;
/** What is left to the process that opens ports: to open them, to become the user that serves, to end it, to read its program. */
const CAPABILITIES = ['net_bind_service', 'setuid', 'setgid', 'kill', 'dac_read_search'];

/** `runDir`: the instance's, whose name is the instance's hash. */
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
    // The serving process gives up root all the same.
    log.warn('setpriv: the process that opens ports of routes keeps the rights of root', { err: error });
  }
  return own;
}
