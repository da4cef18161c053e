// Lets the search of the site run from file://, where browsers start no worker: the script of the worker runs in a hidden frame. Material
// takes this, by its name, in place of a script that it would fetch from the web. Frame and page have the same origin: about:blank.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            this.frame = document.createElement("iframe");
            this.frame.hidden = true;
            document.documentElement.appendChild(this.frame);
            const inner = this.frame.contentWindow;
            inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
            this.ready = new Promise((loaded, failed) => {
                const script = inner.document.createElement("script");
                script.src = url;
                script.onload = loaded;
                script.onerror = failed;
                inner.document.head.appendChild(script);
            });
        }

        postMessage(data) {
            const inner = this.frame.contentWindow;
            this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
        }

        terminate() {
            this.frame.remove();
        }
    };
}
