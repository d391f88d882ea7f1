/** Keeps the process alive while it waits for a timer of the clock port, which does not. */

/** Keeps it alive until the result is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000);
  return () => clearInterval(timer);
}
