/** The range of speeds of simulated time. */
export const MOST_SPEED = 1_000_000;
