package store_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/store/storetest"
)

func TestEvents_areMissedByNobodyAmongProcesses(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) { storetest.FeedAtOnce(t, fresh, 4, size(t, 40)) })
}

func TestEvents_waitForTransactionsThatCommitLate(t *testing.T) { storetest.LateCommits(t) }

func TestEvents_waitForNoOtherDatabase(t *testing.T) { storetest.OtherDatabase(t) }

func TestEvents_goOnAfterADatabaseWasCopied(t *testing.T) { storetest.CopiedDatabase(t) }
