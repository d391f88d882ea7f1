/** The source of a HelmChart's chart. Pure. */
import type { HelmChartSpec } from './helm-kinds.ts';

export type ChartSource =
  | { readonly kind: 'content' }
  /** A file of `<data-dir>/charts`. */
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'repository'; readonly url: string; readonly chart: string }
  /** An archive at an http, https or oci URL. */
  | { readonly kind: 'location'; readonly url: string };

/** A HelmChart that cannot be installed; the message is shown in its condition. */
export class ChartProblem extends Error {
  override readonly name = 'ChartProblem';
  readonly reason: string;

  constructor(message: string, reason = 'Job create failed') {
    super(message);
    this.reason = reason;
  }
}

/** k3s's placeholder for the address of the API server, and the path below it at which k3s serves chart files. */
const API_PLACEHOLDER = '%{KUBERNETES_API}%';
const STATIC_CHARTS = `https://${API_PLACEHOLDER}/static/charts/`;
/** Upstream: klipper-helm's STABLE_REPO_URL. */
const STABLE_URL = 'https://charts.helm.sh/stable';
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*\.tgz$/;

/** `apiHost`: host and port of the API server. @throws ChartProblem */
export function chartSource({ chart = '', chartContent = '', repo = '' }: HelmChartSpec, apiHost: string): ChartSource {
  if (chartContent !== '') return { kind: 'content' };
  if (repo !== '') {
    if (!/^https?:\/\//.test(repo)) throw new ChartProblem(`spec.repo: ${repo} is no URL of http or https`);
    return { kind: 'repository', url: repo.replaceAll(API_PLACEHOLDER, apiHost), chart };
  }
  if (chart.startsWith(STATIC_CHARTS)) return chartFile(chart.slice(STATIC_CHARTS.length));
  if (/^(https?|oci):\/\//.test(chart)) return { kind: 'location', url: chart.replaceAll(API_PLACEHOLDER, apiHost) };
  if (chart.startsWith('stable/')) return { kind: 'repository', url: STABLE_URL, chart: chart.slice('stable/'.length) };
  return chartFile(chart);
}

function chartFile(name: string): ChartSource {
  if (!FILE_NAME.test(name))
    throw new ChartProblem(
      `spec.chart: ${name} is neither a URL (https, http, oci), nor a chart of spec.repo, nor the name of a file (NAME.tgz) in the charts folder of the server's data directory`,
    );
  return { kind: 'file', name };
}

/** The source in the words of k3s's event. */
export function sourceText(spec: HelmChartSpec): string {
  const { chart = '', chartContent = '', repo = '', version = '' } = spec;
  if (chartContent !== '') return 'inline spec.chartContent';
  const which = version === '' ? 'latest stable version' : `version ${version}`;
  if (chart.startsWith('oci://')) return `${which} from OCI registry ${chart}`;
  if (chart.includes('://') || repo === '') return chart;
  return version === ''
    ? `latest stable version of ${chart} from chart repository ${repo}`
    : `${chart} version ${version} from chart repository ${repo}`;
}
