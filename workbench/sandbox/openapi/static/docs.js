// Swagger UI over this sandbox's own description; nothing is loaded from elsewhere.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// JupyterLab shows this page in a frame, to read: no sandbox answers there. A sandbox forbids frames.
const toRead = window.self !== window.top;
document.documentElement.classList.toggle("to-read", toRead);

window.addEventListener("DOMContentLoaded", () => {
  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#operations",
    deepLinking: true,
    docExpansion: "list",
    displayRequestDuration: true,
    showExtensions: true,
    tryItOutEnabled: false,
    ...(toRead && { supportedSubmitMethods: [] }),
    validatorUrl: null,
    queryConfigEnabled: false,
  });
});
