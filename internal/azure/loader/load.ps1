# Fetches this machine's bootstrap script from Azure Key Vault, as the identity that
# alone may read it, and runs it. No secret is in this file or in the output.
$ErrorActionPreference = 'Stop'
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$value = ''
$reason = 'no answer'
for ($try = 1; $try -le 90; $try++) {
  try {
    $reason = 'the instance metadata service gives no token'
    $token = (Invoke-RestMethod -Headers @{ Metadata = 'true' } -TimeoutSec 10 -Uri '@TOKEN_URL@').access_token
    $reason = 'the key vault refuses'
    $value = (Invoke-RestMethod -Headers @{ Authorization = "Bearer $token" } -TimeoutSec 10 -Uri '@SECRET_URL@').value
    $name = Invoke-RestMethod -Headers @{ Metadata = 'true' } -TimeoutSec 10 -Uri 'http://169.254.169.254/metadata/instance/compute/osProfile/computerName?api-version=2021-12-13&format=text'
    break
  } catch {
    $reason = "${reason}: $($_.Exception.Message)"
    Start-Sleep -Seconds 10
  }
}
if (-not $name) {
  Write-Output "casement-bootstrap: cannot fetch the bootstrap secret after 90 tries: $reason"
  exit 1
}
Write-Output "casement-bootstrap: the bootstrap secret was fetched (try $try)"
$bytes = [Convert]::FromBase64String($value.Replace('-', '+').Replace('_', '/'))
$zipped = [IO.Compression.GzipStream]::new([IO.MemoryStream]::new($bytes), [IO.Compression.CompressionMode]::Decompress)
$script = [IO.StreamReader]::new($zipped).ReadToEnd()
Invoke-Expression $script
