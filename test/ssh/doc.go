// This package holds tests only.

package ssh
