/** How a user has HelmCharts run. */
export interface HelmOptions {
  /** The image of jobs that run charts; absent: this process runs helm. */
  readonly jobImage?: string;
  /** A helm to run; absent: one that is fetched. */
  readonly program?: string;
  /** The environment's HTTP_PROXY and its like. */
  readonly proxies?: Readonly<Record<string, string>>;
}
