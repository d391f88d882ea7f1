/** The umask of processes that run as root, whatever that of the administrator's shell or unit is. */

/**
 * Containers, helm and gateways inherit it or read files of this process, and run as other users. Private files are
 * created with a mode of their own.
 */
export function setProcessUmask(): void {
  if (process.getuid?.() === 0) process.umask(0o022);
}
