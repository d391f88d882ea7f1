/** The port to what started this process and watches over it: systemd, with its notifications (sd_notify). */

/** The service manager (systemd) and the messages it takes from this process. */
export interface ServiceManager {
  /**
   * systemd ends the process when it gets no `WATCHDOG=1` for this long; undefined: no watchdog. @throws Error for an
   * invalid interval
   */
  watchdogMs(): number | undefined;
  /** Sends a state such as `READY=1`. Does nothing when the service manager accepts none. Rejects when it cannot be sent. */
  notify(state: string): Promise<void>;
}
