/** How fast simulated time may be asked to run. */
export const MOST_SPEED = 1_000_000;
