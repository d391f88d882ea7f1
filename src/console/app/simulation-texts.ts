/** Texts of what is offered in simulations alone. */
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
  failed: 'It was refused:',
  faults: {
    title: 'Faults of this simulated machine',
    hint: 'What is done here is done to the simulated machine, and stands in a recorded scenario.',
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
