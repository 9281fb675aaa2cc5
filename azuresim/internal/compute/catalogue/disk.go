package catalogue

// Tier has the performance figures of a managed disk of one size.
type Tier struct {
	Name       string
	IOPS, MBps int
}

// diskTier is one row of the table: disks of a kind up to a number of GiB.
type diskTier struct {
	gib                                                          int
	number                                                       string
	premiumIOPS, premiumMBps, ssdIOPS, ssdMBps, hddIOPS, hddMBps int
}

// diskTiers are the sizes of managed disks that have fixed figures.
// Source: https://learn.microsoft.com/azure/virtual-machines/disks-types.
var diskTiers = []diskTier{
	{4, "1", 120, 25, 500, 100, 500, 60},
	{8, "2", 120, 25, 500, 100, 500, 60},
	{16, "3", 120, 25, 500, 100, 500, 60},
	{32, "4", 120, 25, 500, 100, 500, 60},
	{64, "6", 240, 50, 500, 100, 500, 60},
	{128, "10", 500, 100, 500, 100, 500, 60},
	{256, "15", 1100, 125, 500, 100, 500, 60},
	{512, "20", 2300, 150, 500, 100, 500, 60},
	{1024, "30", 5000, 200, 500, 100, 500, 60},
	{2048, "40", 7500, 250, 500, 100, 500, 60},
	{4096, "50", 7500, 250, 500, 100, 500, 60},
	{8192, "60", 16000, 500, 2000, 400, 1300, 300},
	{16384, "70", 18000, 750, 4000, 600, 2000, 500},
	{32767, "80", 20000, 900, 6000, 750, 2000, 500},
}

// DiskTier returns the tier of a disk. kind is the first part of its SKU's name: Premium,
// StandardSSD or Standard; other kinds have no tiers.
func DiskTier(kind string, gib int) (Tier, bool) {
	row := diskTiers[len(diskTiers)-1]
	for _, r := range diskTiers {
		if gib <= r.gib {
			row = r
			break
		}
	}
	switch kind {
	case "Premium":
		return Tier{"P" + row.number, row.premiumIOPS, row.premiumMBps}, true
	case "StandardSSD":
		return Tier{"E" + row.number, row.ssdIOPS, row.ssdMBps}, true
	case "Standard":
		return Tier{"S" + row.number, row.hddIOPS, row.hddMBps}, true
	}
	return Tier{}, false
}
