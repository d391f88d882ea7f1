/** Runs one function in the next phase of immediates, once however often it is scheduled before. */
export class NextTurn {
  readonly #nextTurn: (callback: () => void) => void;
  readonly #run: () => void;
  #isScheduled = false;

  constructor(nextTurn: (callback: () => void) => void, run: () => void) {
    this.#nextTurn = nextTurn;
    this.#run = run;
  }

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#run();
  };
}
