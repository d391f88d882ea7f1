/** `keelson up --rootless`: what pods of a user who is not root need of this machine. There is no such cluster yet. */
import { userInfo } from 'node:os';
import { withPlatform } from './run-once.ts';
import { UserError } from './usage-error.ts';

/** Resolves to the exit code, which is 1 whatever is found: no cluster is started. */
export async function examineRootless(): Promise<number> {
  const { uid, username: name } = userOfProcess();
  if (uid === 0)
    throw new UserError('--rootless: this is root, whom nothing keeps from real pods; run it as the user', 2);
  const { readRootless } = await import('../cluster/doctor/rootless/read-rootless.ts');
  const { ROOTLESS_CHECKS } = await import('../cluster/doctor/rootless/rootless-checks.ts');
  const { examineBy, reportText } = await import('../cluster/doctor/report.ts');
  const facts = await withPlatform((platform) => readRootless(platform, { uid, name }), { log: { level: 'warn' } });
  const report = examineBy(ROOTLESS_CHECKS, facts);
  process.stdout.write(reportText(report));
  const machine = report.level === 'error' ? 'this machine lacks what is marked ✖' : 'this machine has what it takes';
  process.stderr.write(
    `keelson: --rootless: ${machine}, but keelson starts no pods without root yet; --simulate gives any user a control plane\n`,
  );
  return 1;
}

/** A user without an entry in `/etc/passwd` has no name. */
function userOfProcess(): { readonly uid: number; readonly username: string } {
  try {
    return userInfo();
  } catch {
    return { uid: process.getuid?.() ?? 0, username: '' };
  }
}
