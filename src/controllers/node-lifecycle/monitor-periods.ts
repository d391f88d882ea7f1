/** Upstream's defaults of --node-monitor-grace-period and --node-monitor-period. */
export const NODE_MONITOR_GRACE_MS = 50_000;
export const NODE_MONITOR_PERIOD_MS = 5000;
