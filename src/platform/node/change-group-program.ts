/**
 * Gives a file tree to a group in a separate process that can be killed, for file systems whose calls may never
 * return. An entry point; its argument is the order as JSON; errors are written to standard error.
 */
import { errorMessage } from '../../base/errors.ts';
import { type GroupOrder, changeGroup } from '../change-group.ts';
import { createNodeFiles } from './files.ts';

async function main(): Promise<void> {
  await changeGroup(createNodeFiles(), JSON.parse(process.argv[2] ?? '') as GroupOrder);
}

main().catch((error: unknown) => {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 1;
});
