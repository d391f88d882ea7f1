/** The tone of a status word, which selects the colour and shape of a badge. */

export type Tone = 'good' | 'busy' | 'bad' | 'done' | 'plain';

const WORDS: Readonly<Record<Exclude<Tone, 'plain'>, readonly string[]>> = {
  good: [
    'Running',
    'Ready',
    'Active',
    'Bound',
    'True',
    'Available',
    'Healthy',
    'Established',
    'Approved,Issued',
    'Accepted',
  ],
  busy: [
    'Pending',
    'ContainerCreating',
    'PodInitializing',
    'Terminating',
    'Released',
    'Progressing',
    'NotReady',
    'SchedulingGated',
    'Suspended',
    'Unknown',
    'Ready,SchedulingDisabled',
    'Approved',
  ],
  bad: [
    'Failed',
    'Error',
    'CrashLoopBackOff',
    'ImagePullBackOff',
    'ErrImagePull',
    'OOMKilled',
    'Evicted',
    'CreateContainerConfigError',
    'CreateContainerError',
    'InvalidImageName',
    'RunContainerError',
    'Lost',
    'Warning',
    'Denied',
    'Unschedulable',
    'ContainerStatusUnknown',
    'DeadlineExceeded',
  ],
  done: ['Succeeded', 'Completed', 'Complete', 'Normal'],
};

const byWord = new Map(Object.entries(WORDS).flatMap(([tone, words]) => words.map((word) => [word, tone as Tone])));

/** The tone of a status, phase or reason. */
export function toneOf(word: string): Tone {
  const known = byWord.get(word);
  if (known !== undefined) return known;
  // A sentence, such as an event's message.
  if (word.includes(' ')) return 'plain';
  if (word.startsWith('Init:')) return /Error|BackOff|OOMKilled|ExitCode|Signal/.test(word) ? 'bad' : 'busy';
  if (word.startsWith('NotReady')) return 'busy';
  return /(Error|BackOff|Failed)$/.test(word) ? 'bad' : 'plain';
}

/** The tone of a fraction such as `2/3`: busy until it is complete. */
export function toneOfShare(text: string): Tone {
  const share = /^(\d+)\/(\d+)$/.exec(text);
  if (share === null) return 'plain';
  return Number(share[1]) >= Number(share[2]) ? 'plain' : 'busy';
}
