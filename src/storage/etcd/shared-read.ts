/** Shares one read among callers that arrive while another runs. */
import { createDeferred, type Deferred } from '../../base/deferred.ts';

/** Runs one read at a time. Calls during a read share the result of the next one, which begins after all of them. */
export class SharedRead<T> {
  readonly #start: () => Promise<T>;
  #isReading = false;
  #next: Deferred<T> | undefined;

  constructor(start: () => Promise<T>) {
    this.#start = start;
  }

  read(): Promise<T> {
    if (this.#isReading) return (this.#next ??= createDeferred<T>()).promise;
    this.#isReading = true;
    const ended = (): void => {
      this.#isReading = false;
      const next = this.#next;
      this.#next = undefined;
      next?.resolve(this.read());
    };
    const answer = this.#start();
    answer.then(ended, ended);
    return answer;
  }
}
