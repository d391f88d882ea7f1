/** Holds the process while somebody waits for something that only timers of the clock port, which hold nothing, will bring. */

/** Holds it; the result lets go. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000);
  return () => clearInterval(timer);
}
