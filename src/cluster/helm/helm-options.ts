/** The user's settings for running HelmCharts. */
export interface HelmOptions {
  /** The image of jobs that run helm; absent: this process runs helm. */
  readonly jobImage?: string;
  /** The path of helm; absent: it is fetched. */
  readonly program?: string;
  /** HTTP_PROXY and similar variables of the environment. */
  readonly proxies?: Readonly<Record<string, string>>;
}
