/** Requests charts while the overview is open, so that the server already collects their samples when a user opens them. */
import { useEffect } from 'preact/hooks';
import { readCharts } from '../../api/charts.ts';
import { ApiError } from '../../api/http.ts';
import { type Kind, listPath } from '../../api/kinds.ts';

/** The server collects for an hour after a request. */
const PERIOD_MS = 20 * 60_000;

export function useChartsKept(kind: Kind | undefined, namespace: string): void {
  const path = kind === undefined ? '' : listPath(kind, kind.namespaced ? namespace : '');
  useEffect(() => {
    if (path === '') return undefined;
    const ask = (): void => {
      readCharts(path).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error; // the charts show the error when they are opened
      });
    };
    const timer = setInterval(ask, PERIOD_MS);
    ask();
    return () => clearInterval(timer);
  }, [path]);
}
