package main

// The modules whose examples are run. The blank imports keep them in go.mod.
import (
	_ "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	_ "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	_ "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"
	_ "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
)

const sdk = "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/"

func modules() []string {
	return []string{
		sdk + "compute/armcompute/v8", sdk + "network/armnetwork/v9", sdk + "resources/armresources",
		sdk + "privatedns/armprivatedns", sdk + "msi/armmsi", sdk + "authorization/armauthorization/v2",
	}
}
