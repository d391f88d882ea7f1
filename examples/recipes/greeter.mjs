// An operator on `@dot-i/k8s-operator`: keeps the status of greetings, and has a finalizer.
import framework from '@dot-i/k8s-operator';

const FINALIZER = 'greetings.example.com/farewell';

class Greeter extends framework.default {
  async init() {
    await this.watchResource('example.com', 'v1', 'greetings', async (event) => {
      const farewell = ({ meta }) => Promise.resolve(console.log(`farewell ${meta.name}`));
      if (await this.handleResourceFinalizer(event, FINALIZER, farewell)) return;
      if (event.type === framework.ResourceEventType.Deleted) return;
      const text = `hello ${event.object.spec?.name}`;
      if (event.object.status?.text !== text) await this.patchResourceStatus(event.meta, { text });
    });
  }
}

await new Greeter().start();
