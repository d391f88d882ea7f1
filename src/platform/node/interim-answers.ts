/** Interim responses (1xx) before the final one. Node.js accepts them forever. */
import type { ClientRequest } from 'node:http';

/** As in Go's net/http. */
const MAX_INTERIM = 5;

/** For the event `information` of a request: aborts it after too many. */
export function leaveAfterMany(this: ClientRequest & { interim?: number }): void {
  this.interim = (this.interim ?? 0) + 1;
  if (this.interim > MAX_INTERIM) this.destroy(new Error('too many 1xx informational responses'));
}
