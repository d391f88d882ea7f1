/**
 * The container cannot be configured yet. The message is shown in its waiting state, with the reason
 * CreateContainerConfigError.
 */
export class ContainerConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ContainerConfigError';
  }
}
