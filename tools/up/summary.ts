// What `npm run up` prints: a line as each phase ends, and the summary.

/** One phase and how long it took; an empty result means that there was nothing to do. */
export interface Phase {
  readonly name: string;
  readonly result: string;
  readonly durationMs: number;
}

/** The set-up phases that tools/bootstrap.mjs hands over; none when it did not. */
export function setupPhases(text: string | undefined): Phase[] {
  return text === undefined || text === '' ? [] : (JSON.parse(text) as Phase[]);
}

/** The phases as a table, with their sum. */
export function phaseTable(phases: readonly Phase[]): string {
  const all = [
    ...phases,
    { name: 'total', result: '', durationMs: phases.reduce((sum, phase) => sum + phase.durationMs, 0) },
  ];
  const width = Math.max(...all.map(({ name }) => name.length));
  const line = ({ name, result, durationMs }: Phase): string => {
    const time = `${(durationMs / 1000).toFixed(2)} s`.padStart(9);
    const what = name === 'total' ? '' : result === '' ? 'was done' : result;
    return `  ${name.padEnd(width)}  ${time}  ${what}`.trimEnd();
  };
  return all.map(line).join('\n');
}

/** Where things are. */
export interface Place {
  readonly kubeconfig: string;
  readonly dataDir: string;
  readonly server: string;
  readonly demoUrl: string;
  readonly demoText: string;
}

/** The closing text: where the cluster is, and five things to try. */
export function closingText({ kubeconfig, dataDir, server, demoUrl, demoText }: Place): string {
  const dataDirOption = dataDir === '/var/lib/keelson' ? '' : ` --data-dir ${dataDir}`;
  return [
    `The cluster is at ${server}, its demo at ${demoUrl} ("${demoText}").`,
    '',
    `  export KUBECONFIG=${kubeconfig}`,
    '',
    'Five things to try:',
    '  kubectl get pods --all-namespaces -o wide',
    '  kubectl scale deployment demo --replicas 5 && kubectl get pods --watch',
    `  curl ${demoUrl}`,
    '  kubectl exec -it deploy/demo -- sh',
    '  kubectl delete pod -l app=demo && kubectl get events --watch',
    '',
    `  bin/keelson status${dataDirOption}   what is running`,
    `  bin/keelson down${dataDirOption}     stop it and leave the machine as it was`,
  ].join('\n');
}
