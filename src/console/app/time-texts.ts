/** Texts of the time bar. */
export const timeTexts = {
  open: 'Time',
  title: 'Moment that is shown',
  slider: 'Moment',
  exact: 'Date and time',
  live: 'Live',
  isLive: 'The present, live',
  shown: (when: string, ago: string): string => `As it was at ${when}, ${ago} ago`,
  presentOnly: 'This page shows the present: it cannot be moved back.',
  partOnly: 'Known for the present alone.',
  off: 'This server keeps no history, so that it cannot be moved back.',
  failed: 'The history cannot be asked:',
  steps: {
    minuteBack: 'One minute back',
    secondsBack: 'Ten seconds back',
    secondsOn: 'Ten seconds on',
    minuteOn: 'One minute on',
  },
  since: (when: string): string => `Kept since ${when}`,
  withoutGone: 'without what is gone',
  wasNotThere: 'This object was not there then.',
} as const;
