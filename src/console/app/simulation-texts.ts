/** Texts that only simulations show. */
export const simulationTexts = {
  title: 'Simulation',
  realTime: 'Its time is real: start it with --speed to move it.',
  now: (when: string): string => `Simulated time ${when}`,
  pause: 'Pause',
  run: 'Run',
  step: 'Step',
  stepSize: 'Size of a step',
  steps: { 1: '1 s', 10: '10 s', 60: '1 min', 600: '10 min', 3600: '1 h', 86400: '1 day' } as Readonly<
    Record<number, string>
  >,
  speed: 'Speed',
  paused: 'paused',
  reached: (speed: string): string => `reached: ×${speed}`,
  scenario: 'Save as scenario',
  broken: 'Broken:',
  failed: 'The server refused:',
  faults: {
    title: 'Faults of this simulated machine',
    hint: 'These actions change the simulated machine and are part of a recorded scenario.',
    crash: 'Cut the power',
    stop: 'Stop the kubelet',
    start: 'Start',
    partition: 'Cut off the network',
    heal: 'Join the network',
    state: {
      noPower: 'no power',
      noKubelet: 'kubelet stopped',
      partitioned: 'cut off from the network',
      none: 'nothing is broken',
    },
  },
} as const;
