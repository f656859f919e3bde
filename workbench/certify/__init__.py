"""The exam for somebody's own webhook endpoint, in any language: sent, expected, what came back, and how to fix it."""

from workbench.certify.report import Report as Report
from workbench.certify.run import certify as certify
