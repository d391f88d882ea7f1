/** The last error that each component of this process logged, for `keelson status`. */

/** The last error that a component logged. */
export interface LastError {
  /** The logger's component up to its first dot. */
  readonly component: string;
  /** Since the process started. */
  readonly count: number;
  /** RFC 3339. */
  readonly lastTime: string;
  /** The last message, with its error's message if any; at most 500 characters. */
  readonly message: string;
}

/** There are few components; loggers named after objects must not fill the memory. */
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

/** An error is logged as its text, or described as plain data. */
function textOf(message: string, error: unknown): string {
  const { message: cause } = (error ?? {}) as { message?: unknown };
  return typeof cause === 'string' && cause !== '' ? `${message}: ${cause}` : message;
}
