/** Every text of the console, by subject. Objects' own texts come from the server. */

export const texts = {
  title: 'Keelson',
  skip: 'Skip to the content',
  signIn: {
    title: 'Sign in',
    token: 'Bearer token',
    submit: 'Sign in',
    hint: 'On the machine with a kubeconfig, this opens the console signed in:',
    failed: {
      code: 'The link was used already, or is older than a minute. Make a new one.',
      token: 'The server does not accept this token.',
      ended: 'The session has ended. Sign in again.',
    } as Readonly<Record<string, string>>,
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
  menu: {
    overview: 'Overview',
    workloads: 'Workloads',
    network: 'Network',
    config: 'Configuration',
    storage: 'Storage',
    access: 'Access',
    cluster: 'Cluster',
  },
  palette: {
    title: 'Go to',
    placeholder: 'Kind, short name, or group',
    none: 'No kind of this name can be listed.',
  },
  keys: {
    title: 'Keys',
    palette: 'go to a kind',
    help: 'show the keys',
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
    healthy: 'healthy',
    unhealthy: 'unhealthy',
  },
} as const;

const numbers = new Intl.NumberFormat('en');

export function numberText(value: number): string {
  return numbers.format(value);
}

function count(value: number, noun: string): string {
  return `${numberText(value)} ${noun}${value === 1 ? '' : 's'}`;
}
