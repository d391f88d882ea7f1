/** The last error of each component of this process, as its log has it: for `keelson status`. */

/** What a component logged as errors. */
export interface LastError {
  /** The component of the log without what is below its first dot. */
  readonly component: string;
  /** Since the process started. */
  readonly count: number;
  /** RFC 3339. */
  readonly lastTime: string;
  /** The last line's message, with its error's message where it had one; 500 characters at most. */
  readonly message: string;
}

/** Components are few; whoever names loggers by objects must not fill memory. */
const MAX_COMPONENTS = 100;
const MAX_MESSAGE_LENGTH = 500;

export class LastErrors {
  readonly #nowMs: () => number;
  readonly #byComponent = new Map<string, LastError>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(logger: string, message: string, error: unknown): void {
    const [component = ''] = logger.split('.', 1);
    const before = this.#byComponent.get(component);
    if (before === undefined && this.#byComponent.size >= MAX_COMPONENTS) return;
    this.#byComponent.set(component, {
      component,
      count: (before?.count ?? 0) + 1,
      lastTime: new Date(this.#nowMs()).toISOString(),
      message: textOf(message, error).slice(0, MAX_MESSAGE_LENGTH),
    });
  }

  /** The latest first. */
  list(): readonly LastError[] {
    return [...this.#byComponent.values()].toSorted((a, b) => (a.lastTime < b.lastTime ? 1 : -1));
  }
}

/** Errors stand in a line as themselves, or described as plain data. */
function textOf(message: string, error: unknown): string {
  const { message: cause } = (error ?? {}) as { message?: unknown };
  return typeof cause === 'string' && cause !== '' ? `${message}: ${cause}` : message;
}
