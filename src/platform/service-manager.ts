/** The port to what started this process and watches over it: systemd, with its notifications (sd_notify). */

/** The service manager, as far as it wants to hear of this process. */
export interface ServiceManager {
  /**
   * It ends the process when it has not heard `WATCHDOG=1` for so long; undefined: it does not.
   * @throws Error when what it says of that makes no sense
   */
  watchdogMs(): number | undefined;
  /** Sends a state such as `READY=1`. Does nothing when the service manager accepts none. Rejects when it cannot be sent. */
  notify(state: string): Promise<void>;
}
