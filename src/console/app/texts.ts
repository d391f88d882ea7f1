/** All texts of the console by subject. Texts of objects come from the server. */
import { count, numberText } from './number-text.ts';
import { chartsTexts } from './charts-texts.ts';
import { replayFileTexts, replayTexts } from './replay-texts.ts';
import { podTexts } from './pod-texts.ts';
import { logsTexts } from './logs-texts.ts';
import { objectTexts } from './object-texts.ts';
import { editTexts } from './edit-texts.ts';
import { terminalTexts } from './terminal-texts.ts';
import { filesTexts } from './files-texts.ts';
import { simulationTexts } from './simulation-texts.ts';
import { timeTexts } from './time-texts.ts';
import { topologyTexts } from './topology-texts.ts';

export { numberText } from './number-text.ts';

export const texts = {
  title: 'Keelson',
  skip: 'Skip to the content',
  signIn: {
    title: 'Sign in',
    token: 'Bearer token',
    submit: 'Sign in',
    withIssuer: (host: string): string => `Sign in with ${host}`,
    hint: 'On the machine with a kubeconfig, this opens the console signed in:',
    failed: {
      code: 'The link was used already, or is older than a minute. Make a new one.',
      token: 'The server does not accept this token.',
      ended: 'The session has ended. Sign in again.',
      stale: 'The sign-in was not begun in this browser, was replaced by a later one, or took too long. Try again.',
      denied: 'The issuer denied the sign-in.',
      issuer: 'The issuer could not be reached, or refused the sign-in. The server’s log says why.',
      rejected: 'The server does not accept the issuer’s token. Its log says why.',
      busy: 'Too many sign-ins are under way. Try again.',
      address: 'At this address of the server the console does not sign in with the issuer. The server’s log says why.',
    } as Readonly<Record<string, string>>,
  },
  link: {
    title: 'Sign in as another user?',
    ends: (name: string): string => `This link signs you in anew and ends the session of ${name}.`,
    whose: 'Go on only if you made the link yourself: what you do then is done as the user it was made by.',
    keep: 'Keep this session',
    go: 'Continue',
  },
  shell: {
    menu: 'Menu',
    kinds: 'Kinds of objects',
    theme: { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' },
    help: 'Keys',
    signOut: 'Sign out',
    namespace: 'Namespace',
    allNamespaces: 'All namespaces',
    openPalette: 'Go to a kind',
    noView: 'There is no such page.',
    loading: 'Loading',
    failed: 'This page could not be loaded.',
    retry: 'Try again',
    close: 'Close',
    otherKinds: 'Other kinds',
  },
  time: timeTexts,
  simulation: simulationTexts,
  replay: replayTexts,
  replayFile: replayFileTexts,
  menu: {
    overview: 'Overview',
    workloads: 'Workloads',
    network: 'Network',
    config: 'Configuration',
    storage: 'Storage',
    access: 'Access',
    cluster: 'Cluster',
  },
  object: objectTexts,
  edit: editTexts,
  logs: logsTexts,
  pod: podTexts,
  terminal: terminalTexts,
  files: filesTexts,
  palette: {
    title: 'Go to',
    placeholder: 'Kind, short name, or group',
    none: 'No kind of this name can be listed.',
  },
  keys: {
    title: 'Keys',
    palette: 'go to a kind',
    help: 'show the keys',
    time: 'show another moment',
    allNamespaces: 'all namespaces',
    filter: 'filter',
    down: 'next row',
    up: 'row before',
    pageDown: 'next screen',
    pageUp: 'screen before',
    first: 'first row',
    last: 'last row',
    open: 'open',
    clear: 'clear the filter',
    overview: 'overview',
  },
  list: {
    filter: 'Filter: words, !word, -l app=web, -f status.phase=Running',
    filterLabel: 'Filter',
    rows: (shown: number, all: number): string =>
      shown === all ? count(all, 'object') : `${numberText(shown)} of ${count(all, 'object')}`,
    loadingMore: (left: number): string => `${numberText(left)} more are loading`,
    live: 'live',
    past: 'as it was',
    loading: 'loading',
    retrying: 'connection lost, trying again',
    none: 'There are none.',
    noneMatch: 'None match the filter.',
    forbiddenEverywhere: 'You may not list these in all namespaces. Choose a namespace you work in.',
    forbidden: 'You may not list these here.',
    unknownKind: (word: string): string => `The server has no kind called ${word}.`,
    sortBy: (column: string): string => `Sort by ${column}`,
    columns: 'Columns',
    deleting: 'being deleted',
  },
  topology: topologyTexts,
  charts: chartsTexts,
  flow: {
    tones: { good: 'ready', busy: 'not ready', bad: 'failing', done: 'ended', plain: '' },
    more: (left: number): string => `and ${numberText(left)} more`,
  },
  overview: {
    title: 'Overview',
    components: 'Components',
    nodes: 'Nodes',
    pods: 'Pods',
    use: 'Use of what can be allocated',
    failing: 'What is failing',
    nothingFailing: 'Nothing is failing.',
    warnings: 'Newest warnings',
    noWarnings: 'No warnings.',
    cpu: 'Processor',
    memory: 'Memory',
    noMetrics: 'Use is not known yet.',
    chartsOf: (node: string, use: string): string => `Charts of ${node}: ${use}`,
    healthy: 'healthy',
    unhealthy: 'unhealthy',
  },
} as const;
