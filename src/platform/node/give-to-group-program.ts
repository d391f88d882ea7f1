/**
 * Gives a tree of files to a group in a process of its own, for file systems a call into which may never return: the process
 * can be killed. Entry of its own. Its argument is the order as JSON; an error goes to standard error.
 */
import { errorMessage } from '../../base/errors.ts';
import { type GroupOrder, giveToGroup } from '../give-to-group.ts';
import { createNodeFiles } from './files.ts';

async function main(): Promise<void> {
  await giveToGroup(createNodeFiles(), JSON.parse(process.argv[2] ?? '') as GroupOrder);
}

main().catch((error: unknown) => {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 1;
});
